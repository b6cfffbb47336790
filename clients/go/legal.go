package dovetail

// Mask returns legal actions as a bit mask: action a is bit a mod 8, from the lowest, of byte a div 8.
// The actions must be in 0 … n-1.
func Mask(actions []int64, n int) []byte {
	out := make([]byte, (n+7)/8)
	for _, action := range actions {
		out[action>>3] |= 1 << (action & 7)
	}
	return out
}

// Unmask returns the actions of a mask in rising order.
func Unmask(mask []byte) []int64 {
	out := []int64{}
	for i, b := range mask {
		for bit := 0; b != 0; bit, b = bit+1, b>>1 {
			if b&1 != 0 {
				out = append(out, int64(8*i+bit))
			}
		}
	}
	return out
}
