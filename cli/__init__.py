from fcreview.cli.main import main as app

__all__ = ["app"]
