"""Episodes: agents and workflows on tasks, again and again, in worker processes; their run artifacts and what they say together."""
