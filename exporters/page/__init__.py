"""A report as one file: a page of HTML, or Markdown."""
