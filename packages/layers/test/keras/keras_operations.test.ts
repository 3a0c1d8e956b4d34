import { describeCases } from './keras_cases.js'

// Made by fixtures/layers/make_models.py.
describeCases('models of the guides of Keras compute as there', 'models.json.gz')
