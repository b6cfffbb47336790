/**
 * Legal actions as a bit mask: action `a` is bit `a mod 8`, from the lowest, of byte `a div 8`.
 * @module
 */

/** Return the mask of some of the actions 0 … n − 1. */
export function mask(actions: Iterable<number>, n: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(n / 8));
  for (const action of actions) bits[action >> 3] |= 1 << (action & 7);
  return bits;
}

/** Return the actions of a mask in rising order. */
export function unmask(bits: Uint8Array): number[] {
  const actions: number[] = [];
  for (let i = 0; i < bits.length; i++) {
    for (let byte = bits[i], bit = 0; byte; byte >>= 1, bit++) {
      if (byte & 1) actions.push(8 * i + bit);
    }
  }
  return actions;
}
