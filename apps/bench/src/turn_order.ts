/**
 * The order of `count` series in a round. In 2·count rounds, count of them for an even number, each series has every place
 * and follows every other one equally often: the threads of the one before may still spin, and it leaves the caches as it
 * used them. A balanced Latin square: Williams 1949, "Experimental designs balanced for the estimation of residual effects of
 * treatments" (https://doi.org/10.1071/CH9490149).
 */
export function turnOrder(count: number, round: number): number[] {
  // 0, count - 1, 1, count - 2, …: all differences between neighbors occur.
  const order = Array.from({ length: count }, (_, turn) => (turn % 2 === 0 ? turn / 2 : count - (turn + 1) / 2))
  const shifted = order.map((place) => (place + round) % count)
  const isMirrored = count % 2 === 1 && Math.floor(round / count) % 2 === 1
  return isMirrored ? shifted.reverse() : shifted
}
