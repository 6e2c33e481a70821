"""The BFCL importer: Berkeley Function-Calling Leaderboard results and scores, file generations V1 to V4."""
