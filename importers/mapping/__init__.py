"""Import results of any form with a mapping file, which says where everything is."""
