"""Model calls: gateway, wire dialects, mock, prices, limits, recordings."""
