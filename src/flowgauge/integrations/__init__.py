"""What connects us with others, each behind its extra: OpenTelemetry, pytest."""
