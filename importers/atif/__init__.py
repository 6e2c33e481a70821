"""Import ATIF trajectories from single files and from Harbor job folders."""
