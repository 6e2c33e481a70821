"""Web server of `fcreview serve`: logins, checks of requests, and one process of the app for each browser session."""
