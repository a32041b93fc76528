for (const svg of document.querySelectorAll("svg[data-columns]")) {
  const marks = [...svg.querySelectorAll(".m")], wide = +svg.dataset.columns
  const output = svg.closest("figure").querySelector("output")
  let at = -1
  const show = to => {
    if (!marks[to]) return
    if (marks[at]) marks[at].classList.remove("on")
    at = to
    marks[at].classList.add("on")
    output.textContent = marks[at].querySelector("title").textContent
  }
  svg.addEventListener("pointerover", event => show(marks.indexOf(event.target.closest(".m"))))
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide}[event.key]
    if (step === undefined) return
    event.preventDefault()
    show(at < 0 ? 0 : at + step)
    marks[at].scrollIntoView({block: "nearest", inline: "nearest"})
  })
}
