"""Two agents. Each is a function that is handed the run: it looks at what it sees, and acts."""

from itertools import permutations


def greedy(run):
    """Always the nearest parcel."""
    at, places = run.observation["at"], dict(enumerate(run.observation["parcels"]))
    driven = 0
    while places:
        parcel = min(places, key=lambda number: (_far(at, places[number]), number))
        at, driven = _bring(run, parcel, places.pop(parcel))
    return driven


def patient(run):
    """Thinks about every order first, then drives the shortest."""
    places = run.observation["parcels"]
    best = min(permutations(range(len(places))), key=lambda order: (_length(places, order), order))
    driven = 0
    for parcel in best:
        _, driven = _bring(run, parcel, places[parcel])
    return driven


def _bring(run, parcel, place):
    driven = run.act("drive", x=place[0], y=place[1])["driven"]
    run.act("deliver", parcel=parcel)
    return place, driven


def _far(here, there):
    return abs(here[0] - there[0]) + abs(here[1] - there[1])


def _length(places, order):
    at, total = (0, 0), 0
    for parcel in order:
        total += _far(at, places[parcel])
        at = places[parcel]
    return total
