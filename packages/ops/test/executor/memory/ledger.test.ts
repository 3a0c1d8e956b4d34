import { describe, expect, it, vi } from 'vitest'
import { Ledger } from '../../../src/executor/index.js'

const NONE = { tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 }

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0))

describe('Ledger', () => {
  it('counts by kind until an entry leaves', () => {
    const ledger = new Ledger()
    const tensor = ledger.enter('tensors', {}, 12)
    const tape = ledger.enter('tapes', {}, 100)
    ledger.enter('rnns', {}).leave()
    expect(ledger.snapshot()).toEqual({ ...NONE, tensors: 1, tapes: 1, bytes: 112 })
    tensor.leave()
    tape.leave()
    expect(ledger.snapshot()).toEqual(NONE)
  })

  it('counts an entry out once', () => {
    const ledger = new Ledger()
    const entry = ledger.enter('tensors', {}, 8)
    entry.leave()
    entry.leave()
    entry.hold(5)
    expect(ledger.snapshot()).toEqual(NONE)
  })

  it('does not register an owner whose entry leaves in its turn of the event loop', async () => {
    const register = vi.spyOn(FinalizationRegistry.prototype, 'register')
    const ledger = new Ledger()
    ledger.enter('tensors', {}, 8).leave()
    await nextTurn()
    expect(register).not.toHaveBeenCalled()
    register.mockRestore()
  })

  it('does not keep an owner registered whose entry has left', async () => {
    const unregister = vi.spyOn(FinalizationRegistry.prototype, 'unregister')
    const ledger = new Ledger()
    const entry = ledger.enter('tensors', {}, 8)
    await nextTurn()
    entry.leave()
    expect(unregister).toHaveReturnedWith(true)
    unregister.mockRestore()
  })

  it('subtracts the final bytes of an entry', () => {
    const ledger = new Ledger()
    const entry = ledger.enter('tensors', {}, 8, true)
    entry.hold(24)
    entry.hold(-2)
    expect(ledger.snapshot()).toEqual({ ...NONE, tensors: 1, bytes: 30 })
    entry.leave()
    expect(ledger.snapshot()).toEqual(NONE)
  })

  it('gives a snapshot that later entries do not change', () => {
    const ledger = new Ledger()
    const before = ledger.snapshot()
    ledger.enter('steppers', {})
    expect(before).toEqual(NONE)
  })
})
