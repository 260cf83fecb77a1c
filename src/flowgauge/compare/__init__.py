"""One side against another: verdicts with their uncertainty, what a policy makes of them, and how figures move over time.

Pure: `Measured` in, the nouns of `model.verdict` out. Reads no store, no file and no clock.
"""
