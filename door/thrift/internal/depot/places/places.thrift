# Where things are.

enum Country { NORWAY, PERU }

typedef string Street

struct Place {
  1: Street street
  2: Country country = Country.PERU
}

exception Unknown {
  1: string street
}

service Places {
  /** Find looks a street up. */
  Place find(1: Street street) throws (1: Unknown unknown)
  void ping()
}
