from fcreview.cli import app

app()
