"""Writes decisions of the model as test vectors: ../testdata/decisions.jsonl.gz, one JSON object a line, sorted.

Explores each scenario of check.py with the rules on, records every call of decide and todo with all that it looked at, drops
repeats, and keeps at most KEEP of each (scenario, kind, status, reason), the first found, which are those with the shortest traces."""
import gzip, hashlib, json, os, sys
from collections import Counter
import model, check
from model import *

KEEP = 40
seen, kept = set(), Counter()
lines = []

def digest(rows): return 'none' if not rows else 'd' + hashlib.sha256(repr(rows).encode()).hexdigest()[:16]

def fp(f):
    if f is None: return None
    _, stage, (code, p, deps), parents = f
    return {'stage': stage, 'code': code, 'p': p, 'deps': [digest(d) for d in deps], 'parents': {t: digest(r) for t, r in parents}}

def entry(name, e):
    return {'fp': fp(e.fp), 'outs': [{'table': t, 'id': i, 'digest': digest(g), 'rows': len(g)} for t, i, g in e.outs]}

def table(T):
    return {'refs': dict(T.refs), 'published': T.log or '', 'snapshots': [
        {'id': s.id, 'parent': s.parent or '', 'op': s.op, 'fp': fp(s.fp), 'digest': digest(s.rows), 'rows': len(s.rows),
         'parent_digest': digest(s.prow or ()), 'parent_rows': len(s.prow or ()), 'run': s.run or '', 'rev': '' if s.rev is None else f'c{s.rev}'}
        for s in T.snaps]}

def world(S, c, ent, W):
    C = S.clones[c]
    turned = [(S.commits[k].parents, S.commits[k].lock) for k in ancestors(S, C.head)] + [((C.head,), C.lock)]
    away = sorted({(st.name, t, i) for ps, lk in turned if len(ps) == 1 for st in W.stages if get(lk, st.name)
                   for t, i in named(S.commits[ps[0]].lock) if (t, i) not in named(lk)})
    return {
        'stages': [{'name': st.name, 'outs': [{'table': t, 'mode': m} for t, m in st.outs], 'deps': list(st.deps), 'param': st.param,
                    'code': get(C.code, st.name, 1)} for st in W.stages],
        'p': C.p, 'ref': C.branch or 'main', 'detached': C.branch is None,
        'tables': {t: table(T) for t, T in S.tabs},
        'lock': {n: entry(n, e) for n, e in C.lock}, 'entries': {n: entry(n, e) for n, e in ent if get(C.lock, n) != e},
        'names': sorted(history_names(S, c)), 'turned': away, 'contains': sorted(f'c{k}' for k in ancestors(S, C.head)),
    }

def record(kind, scenario, S, c, ent, W, ask, answer, bucket):
    key = (scenario, kind, bucket)
    if kept[key] >= KEEP: return
    line = json.dumps({'kind': kind, 'ask': ask, 'answer': answer, 'world': world(S, c, ent, W)}, sort_keys=True)
    if line in seen: return
    seen.add(line); kept[key] += 1
    lines.append((scenario, line))

def main():
    real_decide, real_todo = model.decide, model.todo
    now = {}
    def decide(S, c, st, ent, P, force=False, noreuse=False):
        d = real_decide(S, c, st, ent, P, force, noreuse)
        a = {'status': d.status}
        if d.status == 'stale': a['base'] = {t: (d.base or {}).get(t) or '' for t, m in st.outs if m == 'append'}
        if d.status == 'reuse': a['reuse'] = {t: s.id for t, s in d.reuse.items()}
        record('decide', now['name'], S, c, ent, now['W'], {'stage': st.name, 'accept': force == 'accept', 'force': force is True}, a, (d.status, d.why, force))
        return d
    def todo(S, c, P, W):
        r = real_todo(S, c, P, W)
        pr = S.clones[c].proc
        if pr.force != 'accept':
            a = {'conflict': True} if r == 'conflict' else {'moves': [{'table': t, 'from': f or '', 'to': n} for t, f, n in r]}
            record('moves', now['name'], S, c, pr.entries, W, {}, a, json.dumps([len(a.get('moves', [])), 'conflict' in a]))
        return r
    model.decide = check.decide = decide
    model.todo = check.todo = todo
    check.transition = lambda *a, **k: ()
    for name, (mk, clones, budget) in check.SCEN.items():
        if name in ('checks', 'merge-branch'): continue   # checks come later, and so do table branches
        W = mk(); now.update(name=name, W=W)
        check.explore(name, W, FIXED, clones, budget, limit=30000, tmax=60)
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'testdata', 'decisions.jsonl.gz')
    with open(out, 'wb') as raw, gzip.GzipFile(fileobj=raw, mode='wb', mtime=0, filename='') as z:
        for scenario, line in sorted(lines):
            z.write(json.dumps({'scenario': scenario}).encode()[:-1] + b', ' + line[1:].encode() + b'\n')
    print(len(lines), 'decisions', file=sys.stderr)

if __name__ == '__main__': main()
