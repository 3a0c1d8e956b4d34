import { expect, it } from 'vitest'
import { refuseOtherMethods } from '../../src/rules/index.js'

class Network {
  run() {
    return 'ran'
  }
}

it('Methods of other libraries are refused with the call to write here', () => {
  refuseOtherMethods(Network.prototype, 'a network', { 'run(x)': 'forward run', "activate(x, 'NAME')": 'sigmoid' })
  const network = new Network() as unknown as Record<string, () => unknown>

  expect(network['run']?.()).toBe('ran')
  expect(() => network['forward']?.()).toThrow(
    expect.objectContaining({
      code: 'ERR_UNKNOWN_METHOD',
      method: 'forward',
      message: 'Cannot call forward() as a network has no such method: write run(x)',
    }),
  )
  expect(() => network['sigmoid']?.()).toThrow("write activate(x, 'sigmoid')")
  expect(Object.keys(Network.prototype)).toEqual([])
})
