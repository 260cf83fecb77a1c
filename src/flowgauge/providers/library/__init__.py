"""Every other provider, through pydantic-ai; imported on use."""
