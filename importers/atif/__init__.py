"""Importer of ATIF trajectories, as single files and in Harbor job folders."""
