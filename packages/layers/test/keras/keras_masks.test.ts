import { describeCases } from './keras_cases.js'

// Made by fixtures/layers/make_masks.py.
describeCases('a mask is that of Keras, or is refused where it has no counterpart', 'masks.json.gz')
