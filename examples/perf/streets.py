"""What the couriers act in: a town of streets, and parcels to be brought."""

import random


class Town:
    """Drive from place to place; a parcel is delivered where it belongs."""

    def __init__(self, seed, inputs):
        chance = random.Random(seed)
        self.places = [(chance.randint(0, 20), chance.randint(0, 20)) for _ in range(inputs["parcels"])]
        self.at = (0, 0)
        self.driven = 0
        self.left = set(range(len(self.places)))
        self.observation = {"at": list(self.at), "parcels": [list(place) for place in self.places]}
        self.tools = {"drive": self.drive, "deliver": self.deliver}

    def drive(self, x: int, y: int):
        """Go there; how far it was in all."""
        self.driven += abs(self.at[0] - x) + abs(self.at[1] - y)
        self.at = (x, y)
        return {"at": [x, y], "driven": self.driven}

    def deliver(self, parcel: int):
        """Hand a parcel over."""
        if self.places[parcel] != self.at:
            raise ValueError(f"Parcel {parcel} does not belong here.")
        self.left.discard(parcel)
        return {"left": len(self.left)}

    def validate(self, output):
        """Was everything delivered, and does the courier know how far it went?"""
        if self.left:
            return f"{len(self.left)} parcels were not delivered."
        return output == self.driven


def town(seed, inputs):
    """What a row names as its environment."""
    return Town(seed, inputs)


def is_a_notice(output, inputs, seed):  # noqa: ARG001 - every validator is handed all three
    """What a row names as its validator: true, false, or why not."""
    return inputs["street"] in output["text"] or f"It does not name {inputs['street']}."
