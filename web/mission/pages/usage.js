// What was used: tokens, cost, time to the first word and turns, by day; as a whole, by backend or by source.
import { useState } from 'preact/hooks'
import { useAnswer } from '../live.js'
import { Plot } from '../plot.js'
import { Card, Empty, Head, html, Loaded, Table } from '../ui.js'
import { count, dollars, localDay, plural, shiftDay, shortCount, took } from '../words.js'

const all = 'all'

export const Page = () => {
  const [days, setDays] = useState(30)
  const [by, setBy] = useState(all)
  const answer = useAnswer(`/api/usage?days=${days}`, { everyMs: 60_000 })
  return html`
    <${Head} title="Usage" about="What the agents used, by day.">
      <label class="field-label"><span class="unseen">Time</span>
        <select class="input" value=${days} onChange=${event => setDays(Number(event.target.value))}>
          <option value="7">7 days</option><option value="30">30 days</option><option value="90">90 days</option>
        </select></label>
      <label class="field-label"><span class="unseen">Split</span>
        <select class="input" value=${by} onChange=${event => setBy(event.target.value)}>
          <option value=${all}>All together</option><option value="backend">By backend</option><option value="source">By source</option>
        </select></label>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ days: rows }) =>
        rows.length === 0
          ? html`<${Empty}>Nothing was used in this time.</${Empty}>`
          : html`<${Totals} rows=${rows} days=${days} /><${Plots} rows=${rows} days=${days} by=${by} /><${Breakdown} rows=${rows} />`}
    </${Loaded}>`
}

const Totals = ({ rows, days }) => {
  const total = sumOf(rows)
  const tiles = [
    ['Turns', count(total.turns), total.failed > 0 && `${count(total.failed)} failed`],
    ['Tokens', shortCount(total.tokens), `${shortCount(total.outputTokens)} written`],
    ['Cost', dollars(total.costUsd), total.costUsd !== null && `${dollars(total.costUsd / days)} a day`],
    ['First word', total.firstWordMs === null ? '–' : took(total.firstWordMs), 'on average'],
  ]
  return html`<dl class="tiles four">${tiles.map(
    ([name, value, more]) =>
      html`<div class="tile" key=${name}><dt>${name}</dt><dd><span class="value">${value}</span>${more && html` <span class="quiet">${more}</span>`}</dd></div>`,
  )}</dl>`
}

const Plots = ({ rows, days, by }) => {
  const names = dayNames(rows, days)
  const byDay = Map.groupBy(rows, ({ day }) => day)
  const groups = by === all ? [null] : busiest(rows, by)
  const inGroup = (row, group) => group === null || row[by] === group || (group === others && !groups.includes(row[by]))
  const series = (measure, none) =>
    groups.map(group => ({
      name: group ?? 'all',
      values: names.map(day => {
        const some = (byDay.get(day) ?? []).filter(row => inGroup(row, group))
        return some.length === 0 ? none : measure(sumOf(some))
      }),
    }))
  const named = (name, measure) => ({ ...series(measure, 0)[0], name })
  const tokens =
    by === all
      ? [named('read', sum => sum.inputTokens), named('written', sum => sum.outputTokens)]
      : series(sum => sum.tokens, 0)
  const turns =
    by === all
      ? [named('ended well', sum => sum.turns - sum.failed), named('failed', sum => sum.failed)]
      : series(sum => sum.turns, 0)
  const cost = series(sum => sum.costUsd, 0)
  const told = rows.some(row => row.costUsd !== null)
  return html`
    <div class="columns plots">
      <${Card} title="Tokens"><${Plot} label="Tokens by day" days=${names} series=${tokens} write=${shortCount} stacked whole /></${Card}>
      <${Card} title="Cost">${told ? html`<${Plot} label="Cost by day" days=${names} series=${cost} write=${dollars} stacked />` : html`<${Empty}>The backends in use do not tell what they cost.</${Empty}>`}</${Card}>
      <${Card} title="Time to the first word"><${Plot} label="Time to the first word by day" days=${names} series=${series(sum => sum.firstWordMs, null)} write=${took} /></${Card}>
      <${Card} title="Turns"><${Plot} label="Turns by day" days=${names} series=${turns} write=${count} stacked whole bad=${by === all ? 'failed' : null} /></${Card}>
    </div>`
}

const others = 'others'
/** More colours than these cannot be told apart. */
const busiest = (rows, by) => {
  const turns = [...Map.groupBy(rows, row => row[by])].map(([name, some]) => ({ name, turns: sumOf(some).turns }))
  const names = turns.sort((a, b) => b.turns - a.turns).map(({ name }) => name)
  return names.length <= 5 ? names : [...names.slice(0, 4), others]
}

/** Every day of the time asked for: one without turns is a day as well. */
const dayNames = (rows, days) => {
  const last = [localDay(Date.now()), ...rows.map(({ day }) => day)].sort().at(-1)
  return Array.from({ length: days }, (_, place) => shiftDay(last, place - days + 1))
}

const sumOf = rows => {
  const add = pick => rows.reduce((sum, row) => sum + pick(row), 0)
  const costs = rows.filter(row => row.costUsd !== null)
  const spoke = rows.filter(row => row.firstWordMs !== null)
  // How many turns spoke is not told, so each day weighs as much as its turns.
  const weight = spoke.reduce((sum, row) => sum + Math.max(1, row.turns - row.failed), 0)
  return {
    turns: add(row => row.turns),
    failed: add(row => row.failed),
    inputTokens: add(row => row.inputTokens),
    outputTokens: add(row => row.outputTokens),
    tokens: add(row => row.inputTokens + row.outputTokens),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, row) => sum + row.costUsd, 0),
    firstWordMs:
      weight === 0
        ? null
        : spoke.reduce((sum, row) => sum + row.firstWordMs * Math.max(1, row.turns - row.failed), 0) / weight,
  }
}

const Breakdown = ({ rows }) => {
  const groups = [...Map.groupBy(rows, ({ backend, source }) => `${backend} ${source}`).values()]
    .map(some => ({ backend: some[0].backend, source: some[0].source, ...sumOf(some) }))
    .sort((a, b) => b.turns - a.turns)
  const columns = [
    { title: 'Backend', cell: row => row.backend },
    { title: 'Source', cell: row => row.source },
    { title: 'Turns', number: true, cell: row => count(row.turns) },
    { title: 'Failed', number: true, cell: row => count(row.failed) },
    { title: 'Tokens read', number: true, cell: row => shortCount(row.inputTokens) },
    { title: 'Tokens written', number: true, cell: row => shortCount(row.outputTokens) },
    { title: 'Cost', number: true, cell: row => dollars(row.costUsd) },
    { title: 'First word', number: true, cell: row => (row.firstWordMs === null ? '–' : took(row.firstWordMs)) },
  ]
  return html`
    <${Card} title="By backend and source" class="flush" more=${html`<span class="quiet">${plural(groups.length, 'line')}</span>`}>
      <${Table} label="Usage by backend and source" columns=${columns} rows=${groups} keyOf=${row => `${row.backend} ${row.source}`} />
    </${Card}>`
}
