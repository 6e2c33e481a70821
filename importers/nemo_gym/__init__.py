"""Read rollouts of NeMo Gym, with their inputs, failed attempts and rewards."""
