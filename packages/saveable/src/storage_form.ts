import { cellPrefixes, cellScheme } from './cell_scheme.js'
import type { KeyScheme } from './key_scheme.js'
import { defaultScheme, tf12Scheme } from './region_scheme.js'
import type { Naming } from './saveable.js'
import { tf13Scheme } from './tf13_scheme.js'

/** The name of a saveable that is given none; in TensorFlow's own keys it stands for no scope. */
export const DEFAULT_NAME = 'params_canonical'

/**
 * The form of a network's parameters in a checkpoint: a {@link Naming} of `RNNParamsSaveable`; `cells`, the variables of
 * TensorFlow's CPU cells as its releases from 1.4 on write them; `opaque`, cuDNN's buffer as it is.
 */
export type StorageForm = Naming | 'cells' | 'opaque'

/** The keys of a form for a saveable's name; for `cells` the name is the variable scope. */
export function schemeOf(form: Exclude<StorageForm, 'opaque'>, name: string): KeyScheme {
  switch (form) {
    case 'default':
      return defaultScheme(name)
    case 'tf-1.2':
      return tf12Scheme(name, DEFAULT_NAME)
    case 'tf-1.3':
      return tf13Scheme(name, DEFAULT_NAME)
    case 'cells':
      return cellScheme((descriptor) => cellPrefixes(descriptor, name))
  }
}
