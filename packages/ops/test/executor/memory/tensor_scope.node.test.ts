// Needs AsyncLocalStorage, which browsers do not have.
import { describe, expect, it, vi } from 'vitest'
import { HostMemory, scope } from '../../../src/executor/index.js'

// The package is typed for browsers; this test runs in Node.js.
declare const process: { getBuiltinModule(name: string): unknown }

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

describe('scope without AsyncLocalStorage', async () => {
  // A second copy of the module, whose first scope finds no AsyncLocalStorage.
  const path = '../../../src/executor/memory/tensor_scope.js?entered'
  const entered: typeof import('../../../src/executor/memory/tensor_scope.js') = await import(/* @vite-ignore */ path)
  const lookUp = vi.spyOn(process, 'getBuiltinModule')
  lookUp.mockReturnValue(undefined)
  entered.scope(() => undefined)
  lookUp.mockRestore()

  const disposed: string[] = []
  const made = (name: string) => {
    const tensor = { name, dispose: () => void disposed.push(name) }
    entered.noteInScope(tensor)
    return tensor
  }
  const disposedBy = async (run: () => unknown) => {
    disposed.length = 0
    await run()
    return [...disposed]
  }

  it('disposes tensors of nested bodies, of one that throws too', async () => {
    const failure = new Error('body')
    const nested = () =>
      entered.scope(() => {
        made('outer')
        const kept = entered.scope(() => [made('inner'), made('kept')][1])
        expect(() =>
          entered.scope(() => {
            made('thrown')
            throw failure
          }),
        ).toThrow(failure)
        made('after')
        return kept
      })
    expect(await disposedBy(nested)).toEqual(['inner', 'thrown', 'outer', 'after'])
  })

  it('disposes tensors of asynchronous bodies, one after another', async () => {
    const body = (name: string) =>
      entered.scope(async () => {
        made(`${name} before`)
        await null
        made(`${name} after`)
        return made(`${name} kept`)
      })
    expect(await disposedBy(() => body('first'))).toEqual(['first before', 'first after'])
    expect(await disposedBy(() => body('second'))).toEqual(['second before', 'second after'])
  })

  it('ends the scope of a body that rejects', async () => {
    const failure = new Error('body')
    const rejected = entered.scope(async () => {
      await null
      throw failure
    })
    await expect(rejected).rejects.toBe(failure)
    expect(await disposedBy(() => void made('outside'))).toEqual([])
    expect(await disposedBy(() => entered.scope(() => void made('inside')))).toEqual(['inside'])
  })
})
