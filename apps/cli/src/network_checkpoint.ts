import { writeCheckpoint } from '@cudnn-rnn/rnn'
import { paramRegions } from '@cudnn-rnn/rnn/canonical'
import type { NetworkToExport } from '@cudnn-rnn/rnn/interop'

/**
 * Writes networks under the keys of `RNNParamsSaveable`, `<name>/layer_<l>/<forward|backward>/weight_<k>` and so on, so
 * that a saveable of that name restores them. A network without a name is called `rnn`.
 */
export async function saveNetworks(prefix: string, networks: readonly NetworkToExport[]): Promise<void> {
  await writeCheckpoint(prefix, networks.flatMap(entriesOf))
}

function entriesOf({ name, descriptor, canonical }: NetworkToExport) {
  const regions = paramRegions(descriptor)
  return (['weights', 'biases'] as const).flatMap((kind) =>
    canonical[kind].map((tensor, index) => {
      const { layer, direction, linLayerId, shape } = regions[kind][index]
      const side = direction === 0 ? 'forward' : 'backward'
      const own = kind === 'weights' ? 'weight' : 'bias'
      return [`${name || 'rnn'}/layer_${layer}/${side}/${own}_${linLayerId}`, { data: tensor.data, shape }] as const
    }),
  )
}
