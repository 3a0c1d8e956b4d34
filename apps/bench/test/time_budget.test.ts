import { describe, expect, it } from 'vitest'
import { TimeBudget } from '../src/time_budget.js'

describe('TimeBudget', () => {
  it('lets everybody begin', () => {
    expect(new TimeBudget(1000).refusal('slow', 1e15)).toBeUndefined()
  })

  it('refuses a run that would be too long at the fastest rate so far', () => {
    const budget = new TimeBudget(1000)
    budget.note('slow', 1e6, 500)
    budget.note('slow', 1e6, 100)
    expect(budget.refusal('slow', 1e7)).toBeUndefined()
    expect(budget.refusal('slow', 2e7)).toBe('would take about 2.0 s a run, more than 1 s')
    expect(budget.refusal('other', 2e7)).toBeUndefined()
  })
})
