"""The commands, a file each, in folders of what they are for."""
