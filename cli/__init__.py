"""The command line of fcreview."""


def app() -> None:
    """Run the command line and exit. The console script `fcreview` calls this function."""
    # `signal` would import `enum` and others first, during which Ctrl-C prints a traceback.
    import _signal  # type: ignore[import-not-found]  # it has no types

    # An exception while a C extension is imported can crash the interpreter. Nothing is to clean
    # up before the command runs, so until then Ctrl-C ends the process without an exception.
    # In a background job, SIGINT is ignored and stays ignored.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

    from fcreview.cli.main import main

    main()


__all__ = ["app"]
