"""Result files that change while the app is open: `watching` sees it, `taking` is the process that imports them."""
