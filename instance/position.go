package instance

import "math"

// Position is a place on Earth, in degrees: north and east are above zero.
type Position struct {
	Latitude  float64 `json:"lat"`
	Longitude float64 `json:"lon"`
}

// Valid reports whether there is such a place.
func (p Position) Valid() bool {
	return math.Abs(p.Latitude) <= 90 && math.Abs(p.Longitude) <= 180
}

const earthRadius = 6371.0 // km

// Distance is the way to another position in kilometres along the surface, by the
// haversine formula.
func (p Position) Distance(to Position) float64 {
	const degree = math.Pi / 180
	sinLat := math.Sin((to.Latitude - p.Latitude) * degree / 2)
	sinLon := math.Sin((to.Longitude - p.Longitude) * degree / 2)
	h := sinLat*sinLat + math.Cos(p.Latitude*degree)*math.Cos(to.Latitude*degree)*sinLon*sinLon
	return 2 * earthRadius * math.Asin(math.Sqrt(min(h, 1)))
}
