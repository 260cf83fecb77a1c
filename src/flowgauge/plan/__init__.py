"""A bench becomes ordered trials with run ids, and an estimate of what they will take."""
