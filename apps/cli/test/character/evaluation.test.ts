import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { expect, it } from 'vitest'
import { ngramBits } from '../../src/character/evaluation.js'

it('measures an n-gram model in bits over every held-out character but the first', () => {
  const vocabulary = Vocabulary.of('ab')
  const corpus = { name: 'small', vocabulary, train: vocabulary.encode('ab'), heldOut: vocabulary.encode('aba') }
  // Witten-Bell by hand: a, b and the end came once each, and one unknown token may come.
  const unigram = (1 + 3 / 4) / 6
  const afterA = (1 + unigram) / 2
  const afterB = unigram / 2
  expect(ngramBits(corpus, 2)).toBeCloseTo(-Math.log2(afterA * afterB) / 2, 14)
})
