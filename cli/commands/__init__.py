"""Commands of `fcreview`. `cli.program` lists them."""
