"""AgentLoom workflows, imported as they are; what cannot be carried over is named, never dropped."""
