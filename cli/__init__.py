from fcreview.cli.app import app

__all__ = ["app"]
