import type { Backend, Rnn } from '@cudnn-rnn/ops'
import { expect } from 'vitest'
import { errorOf, expectAllclose } from './closeness.js'

/** The part of an executor that runs a fixture's network. */
export interface NetworkMaker extends Pick<Backend, 'dtype'> {
  rnn(descriptor: Rnn['descriptor']): Pick<Rnn, 'canonicalToParams' | 'paramsToCanonical' | 'forward' | 'backward'>
}

/**
 * For executors with reduced precision: fixtures in which rounding moves a sum across relu's kink, where the gradient
 * differs. Their oracle is an executor that rounds the same values as the one under test, and nothing else.
 */
export interface RoundingOracle {
  readonly cases: readonly string[]
  /** The oracle, rounding nothing: it must give the fixture's numbers. */
  readonly exact: NetworkMaker
  readonly rounding: NetworkMaker
}

/** The numbers of one network, by the names of its results. */
export type Numbers = Readonly<Record<string, ArrayLike<number>>>

/**
 * Fails unless `run` gives the numbers of the fixture `id` within `tolerance`. For a case of `oracle` the numbers are the
 * oracle's, and the test checks that the case needs it: with those roundings the fixture's numbers are out of tolerance.
 */
export async function expectNumbers(
  { id, numbers, run }: { readonly id: string; readonly numbers: Numbers; run(maker: NetworkMaker): Promise<Numbers> },
  executor: NetworkMaker,
  tolerance: number,
  oracle: RoundingOracle | undefined,
): Promise<void> {
  const isKink = oracle?.cases.includes(id) === true
  const expected = isKink ? await run(oracle.rounding) : numbers
  const actual = await run(executor)
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort())
  for (const [name, values] of Object.entries(expected)) expectAllclose(name, actual[name], values, tolerance)
  if (!isKink) return
  const exact = await run(oracle.exact)
  for (const [name, values] of Object.entries(numbers)) expectAllclose(`exact ${name}`, exact[name], values, 1e-12)
  const errors = Object.entries(numbers).map(([name, values]) => errorOf(expected[name], values))
  expect(Math.max(...errors), `${id} is not at the kink`).toBeGreaterThan(tolerance)
}
