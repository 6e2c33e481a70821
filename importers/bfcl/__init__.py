"""Import BFCL (Berkeley Function-Calling Leaderboard) results and scores, V1 to V4."""
