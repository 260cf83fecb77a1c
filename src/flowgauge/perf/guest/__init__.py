"""What runs inside a worker: it makes a run artifact of every episode that it is sent."""
