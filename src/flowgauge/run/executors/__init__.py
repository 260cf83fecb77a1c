"""Who runs trials: this process, several processes; a cluster engine may follow.

An executor is one class that passes tests/contracts/test_executors.py.
"""
