import { codedRangeError } from '@cudnn-rnn/canonical/rules'

/** The error for a layer that a format has no counterpart of. */
export function noExport(format: string, { name, kind }: { readonly name: string; readonly kind: string }) {
  return codedRangeError(
    'ERR_NO_EXPORT',
    `Cannot export to ${format} as every layer must have a counterpart there: current layer is ${name} (${kind})`,
    { format, layer: name, kind },
  )
}
