// Needs AsyncLocalStorage, which browsers do not have.
import { expect, it } from 'vitest'
import { HostMemory, scope } from '../src/index.js'

const memory = new HostMemory('float32')
const live = () => memory.ledger.snapshot().tensors
const make = () => memory.zeros([1])

it('scope keeps tensors of asynchronous bodies apart that run side by side', async () => {
  const body = (turns: number) =>
    scope(async () => {
      const made = [make()]
      for (let turn = 0; turn < turns; turn++) {
        await null
        made.push(make())
      }
      return made[0]
    })
  const kept = await Promise.all([body(3), body(1), body(2)])
  expect(kept.map((tensor) => tensor?.disposed)).toEqual([false, false, false])
  expect(live()).toBe(3)
  for (const tensor of kept) tensor?.dispose()
})
