import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, OpenTape, scope } from '../../../src/executor/index.js'

const memory = new HostMemory('float32')
const live = () => memory.ledger.snapshot().tensors
const make = () => memory.zeros([1])

describe('scope', () => {
  it('disposes the tensors that its body makes, but no earlier ones', () => {
    const before = make()
    const inside = scope(() => {
      const tensor = make()
      expect(tensor.disposed).toBe(false)
      return [tensor][Symbol.iterator] // A function, which holds no tensor.
    })
    expect(typeof inside).toBe('function')
    expect([before.disposed, live()]).toEqual([false, 1])
    before.dispose()
  })

  it.each([
    ['itself', (tensor: object) => tensor],
    ['in an array', (tensor: object) => [1, [tensor]]],
    ['in an object', (tensor: object) => ({ result: { output: tensor } })],
    ['in a map', (tensor: object) => new Map([['kernel', tensor]])],
    ['in a set', (tensor: object) => new Set([tensor])],
    [
      'in an object that refers to itself',
      (tensor: object) => {
        const node: Record<string, object> = { tensor }
        node['self'] = node
        return node
      },
    ],
  ])('keeps the result %s', (_, wrap) => {
    let [kept, dropped] = [make(), make()]
    kept.dispose()
    dropped.dispose()
    scope(() => {
      kept = make()
      dropped = make()
      return wrap(kept)
    })
    expect([kept.disposed, dropped.disposed]).toEqual([false, true])
    kept.dispose()
  })

  it('gives the result of an inner scope to the outer one', () => {
    let inner = make()
    inner.dispose()
    scope(() => {
      inner = scope(() => {
        make()
        return make()
      })
      expect([inner.disposed, live()]).toEqual([false, 1])
    })
    expect([inner.disposed, live()]).toEqual([true, 0])
  })

  it('disposes everything when its body throws or rejects', async () => {
    const failure = new Error('body')
    const throwing = () =>
      scope(() => {
        make()
        throw failure
      })
    expect(throwing).toThrow(failure)
    const rejecting = scope(async () => {
      make()
      await null
      make()
      throw failure
    })
    await expect(rejecting).rejects.toBe(failure)
    expect(live()).toBe(0)
  })

  it('disposes everything when its result cannot be read', async () => {
    const failure = new Error('getter')
    const unreadable = () => {
      const result = { output: make() }
      make()
      return Object.defineProperty(result, 'loss', {
        enumerable: true,
        get: () => {
          throw failure
        },
      })
    }
    expect(() => scope(unreadable)).toThrow(failure)
    await expect(scope(async () => unreadable())).rejects.toBe(failure)
    expect(live()).toBe(0)
  })

  it('keeps tapes as it does tensors', () => {
    class NotingTape extends OpenTape {
      constructor() {
        super()
        memory.ledger.enter('tapes', this)
      }
      protected override release(): void {}
    }
    let dropped: NotingTape | undefined
    const kept = scope(() => {
      dropped = new NotingTape()
      return { tape: new NotingTape() }
    })
    expect([kept.tape.state, dropped?.state]).toEqual(['open', 'disposed'])
  })

  it('disposes no tensor twice that its body disposed', () => {
    scope(() => make().dispose())
    expect(live()).toBe(0)
  })

  it('keeps a tensor of an outer scope that an inner one returns', () => {
    const kept = scope(() => {
      const outer = make()
      expect(scope(() => outer)).toBe(outer)
      expect(outer.disposed).toBe(false)
      return outer
    })
    expect(kept.disposed).toBe(false)
    kept.dispose()
  })

  it('notes nothing after its end', async () => {
    let late: Promise<{ readonly disposed: boolean; dispose(): void }> | undefined
    scope(() => {
      late = Promise.resolve().then(make)
    })
    const tensor = await late
    expect(tensor?.disposed).toBe(false)
    tensor?.dispose()
  })

  it.each([undefined, 1, {}])('refuses the body %o', (body) => {
    expect(() => scope(body as never)).toThrow(
      coded('ERR_INVALID_OPTION_TYPE', {
        message: expect.stringContaining('Cannot open a scope as its body must be a function'),
        argument: 'body',
      }),
    )
  })
})
