"""The command line of fcreview."""


def app() -> None:
    """Run the command line and exit. The console script `fcreview` calls this function."""
    import signal

    # An exception while a C extension is imported can crash the interpreter. Nothing is to clean
    # up before the command runs, so until then Ctrl-C ends the process without an exception.
    # In a background job, SIGINT is ignored and stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    from fcreview.cli.main import main

    main()


__all__ = ["app"]
