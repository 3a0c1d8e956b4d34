import { numPseudoLayers, type RnnDescriptor } from '@cudnn-rnn/canonical'

/** Graphs of more memory win nothing, as launching is not what takes their time. */
export const MOST_GRAPH_BYTES = 256 * 2 ** 20
/** Steps of all pseudo-layers, each several nodes: instantiating a graph of more takes longer than it ever saves. */
const MOST_GRAPH_STEPS = 8192

/** Whether a pass has few enough steps to be captured. */
export function isGraphSized(network: RnnDescriptor, { time }: { readonly time: number }): boolean {
  return time * numPseudoLayers(network) <= MOST_GRAPH_STEPS
}
