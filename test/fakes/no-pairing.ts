// A pairing API without requests, for tests of other things.
import type { PairingAdmin } from '../../src/base/pairing.ts'

export const noPairing: PairingAdmin = {
  list: async () => ({ requests: [], people: [] }),
  approve: async () => ({ type: 'unknown' }),
  deny: async () => ({ type: 'unknown' }),
}
