"""Write corrected golden answers as a pull request to the repository of their benchmark."""
