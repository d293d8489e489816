"""Units of measure: what is measured, and how many of the base unit one is.

Conversion is to one base unit for each kind of measure. Money is not converted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ragassay.models.offline.facts.folding import folded


class Unit(NamedTuple):
    """measure: what it measures ("length", "money:usd", "percent"). factor: base units in one.
    offset: added after the factor, for temperatures.
    """

    measure: str
    factor: float
    offset: float = 0.0


# measure: base unit; then "names = factor", the names of one unit with commas between.
_TABLE = """
length: m
  m, metre, metres, meter, meters = 1
  km, kms, kilometre, kilometres, kilometer, kilometers = 1000
  cm, centimetre, centimetres, centimeter, centimeters = 0.01
  mm, millimetre, millimetres, millimeter, millimeters = 0.001
  micron, microns, micrometre, micrometres, micrometer, micrometers, µm = 0.000001
  nm, nanometre, nanometres, nanometer, nanometers = 0.000000001
  mile, miles, mi = 1609.344
  nautical mile, nautical miles = 1852
  yard, yards, yd, yds = 0.9144
  foot, feet, ft = 0.3048
  inch, inches, in. = 0.0254
  light-year, light-years, light year, light years = 9460730472580800
mass: kg
  kg, kgs, kilo, kilos, kilogram, kilograms = 1
  g, gram, grams, gr = 0.001
  mg, milligram, milligrams = 0.000001
  mcg, µg, microgram, micrograms = 0.000000001
  tonne, tonnes, metric ton, metric tons, t = 1000
  ton, tons = 1000
  lb, lbs, pound, pounds = 0.45359237
  oz, ounce, ounces = 0.028349523125
  stone = 6.35029318
time: s
  s, sec, secs, second, seconds = 1
  ms, millisecond, milliseconds = 0.001
  microsecond, microseconds = 0.000001
  nanosecond, nanoseconds, ns = 0.000000001
  min, mins, minute, minutes = 60
  h, hr, hrs, hour, hours = 3600
  day, days, night, nights = 86400
  week, weeks = 604800
  fortnight, fortnights = 1209600
  month, months = 2629746
  quarter, quarters = 7889238
  year, years, yr, yrs = 31556952
  decade, decades = 315569520
  century, centuries = 3155695200
working time: working day
  working day, working days, business day, business days, workday, workdays = 1
area: m²
  m², m2, sq m, sqm, square metre, square metres, square meter, square meters = 1
  km², km2, sq km, square kilometre, square kilometres = 1000000
  square kilometer, square kilometers = 1000000
  cm², cm2, square centimetre, square centimetres, square centimeter, square centimeters = 0.0001
  hectare, hectares, ha = 10000
  acre, acres = 4046.8564224
  sq ft, square foot, square feet = 0.09290304
  sq mi, square mile, square miles = 2589988.110336
volume: l
  l, litre, litres, liter, liters = 1
  ml, millilitre, millilitres, milliliter, milliliters = 0.001
  cl, centilitre, centilitres, centiliter, centiliters = 0.01
  m³, m3, cubic metre, cubic metres, cubic meter, cubic meters = 1000
  gallon, gallons, gal = 3.785411784
  pint, pints = 0.473176473
  quart, quarts = 0.946352946
  cup, cups = 0.2365882365
  tablespoon, tablespoons, tbsp = 0.01478676478125
  teaspoon, teaspoons, tsp = 0.00492892159375
  fl oz, fluid ounce, fluid ounces = 0.0295735295625
  barrel, barrels = 158.987294928
speed: m/s
  m/s, metres per second, meters per second = 1
  km/h, kph, kmh, kilometres per hour, kilometers per hour = 0.2777777778
  kilometres an hour, kilometers an hour = 0.2777777778
  mph, miles per hour, miles an hour = 0.44704
  knot, knots = 0.5144444444
data: byte
  byte, bytes = 1
  kb, kilobyte, kilobytes = 1000
  mb, megabyte, megabytes = 1000000
  gb, gigabyte, gigabytes, gig, gigs = 1000000000
  tb, terabyte, terabytes = 1000000000000
  kib = 1024
  mib = 1048576
  gib = 1073741824
  tib = 1099511627776
data rate: bit/s
  bps = 1
  kbps, kbit/s = 1000
  mbps, mbit/s, megabits per second = 1000000
  gbps, gbit/s, gigabits per second = 1000000000
power: w
  w, watt, watts = 1
  kw, kilowatt, kilowatts = 1000
  mw, megawatt, megawatts = 1000000
  gw, gigawatt, gigawatts = 1000000000
  hp, horsepower = 745.7
energy: j
  j, joule, joules = 1
  kj, kilojoule, kilojoules = 1000
  wh, watt-hour, watt-hours = 3600
  kwh, kilowatt-hour, kilowatt-hours, kilowatt hour, kilowatt hours = 3600000
  mwh, megawatt-hour, megawatt-hours = 3600000000
  kcal, kilocalorie, kilocalories, calorie, calories, cal = 4184
frequency: hz
  hz, hertz = 1
  khz, kilohertz = 1000
  mhz, megahertz = 1000000
  ghz, gigahertz = 1000000000
voltage: v
  v, volt, volts = 1
  mv, millivolt, millivolts = 0.001
  kv, kilovolt, kilovolts = 1000
current: a
  amp, amps, ampere, amperes = 1
  ma, milliamp, milliamps = 0.001
charge: mah
  mah = 1
pressure: pa
  pa, pascal, pascals = 1
  hpa = 100
  kpa, kilopascal, kilopascals = 1000
  bar, bars = 100000
  psi = 6894.757
temperature: °c
  °c, degrees celsius, degree celsius, degrees c, celsius, degrees centigrade = 1
angle or temperature: degree
  degree, degrees, ° = 1
percent: %
  %, percent, per cent, pct, percentage points, percentage point = 1
money:usd: $
  $, usd, us$, dollar, dollars, us dollars, us dollar = 1
  cent, cents = 0.01
money:eur: €
  €, eur, euro, euros = 1
money:gbp: £
  £, gbp, pounds sterling, quid = 1
  pence = 0.01
money:yen: ¥
  ¥, yen, jpy = 1
money:inr: ₹
  ₹, inr, rupee, rupees = 1
money:chf: chf
  chf, franc, francs, swiss francs = 1
money:cny: cny
  cny, rmb, yuan, renminbi = 1
"""


def _read_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    measure = ""
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            measure = line.rpartition(":")[0]
            continue
        names, _, factor = line.rpartition("=")
        for name in names.split(","):
            units[name.strip()] = Unit(measure, float(factor))
    for name in ("°f", "degrees fahrenheit", "degree fahrenheit", "degrees f", "fahrenheit"):
        units[name] = Unit("temperature", 5 / 9, -160 / 9)
    for name in ("kelvin", "kelvins"):
        units[name] = Unit("temperature", 1.0, -273.15)
    return units


UNITS = _read_table()
"""Units by name, in lower case."""

PREFIXES = {
    "$": "$",
    "us$": "us$",
    "€": "€",
    "£": "£",
    "¥": "¥",
    "₹": "₹",
    "usd": "$",
    "eur": "€",
    "gbp": "£",
    "chf": "chf",
    "inr": "₹",
}
"""What stands before an amount of money, to the name of its unit."""

_names = sorted((name for name in UNITS if name not in ("$", "us$")), key=len, reverse=True)
PATTERN = re.compile(
    r"(?:[ ]?|-)(?P<unit>" + "|".join(re.escape(name) for name in _names) + r")(?![\w²³])",
    re.IGNORECASE,
)
"""A unit behind a number, with what parts them."""


def unit_named(name: str) -> Unit | None:
    """The unit of this name, in any case; None where there is none."""
    return UNITS.get(folded(name).replace("\u03bc", "\u00b5"))
