"""Pairs of masks with one known difference each: NAME_a.npy, NAME_b.npy, 256 tokens.

    python3 mask_pairs.py FOLDER
"""
import os
import sys

import numpy as np

os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
S=256;i=np.arange(S)[:,None];j=np.arange(S)[None];c=j<=i
def seg(l): return np.repeat(np.arange(len(l)),l)
s=seg([100,56,60,40]); d=(s[:,None]==s[None])&c
out={}
def put(n,a,b): np.save(n+'_a.npy',a); np.save(n+'_b.npy',b)
x=d.copy(); x[120,60]=True; put('leak1_near',d,x)      # distance 60 < 99
x=d.copy(); x[200,5]=True; put('leak1_far',d,x)       # distance 195 > 99
x=d.copy(); x[200,5]=True; x[130,20]=True; put('leak2_far',d,x)
s2=seg([101,55,60,40]); put('docshift1',d,(s2[:,None]==s2[None])&c)
s3=seg([156,60,40]); put('docmerge',d,(s3[:,None]==s3[None])&c)
w=c&(i-j<64); w1=c&(i-j<=64); put('win1',w,w1)
x=w1.copy(); x[200,5]=True; put('win1_leak',w,x)
p=c&(j>=40); pr=c&(j<S-40); put('padside',p,pr)
put('prefix',c|(j<32),c)
g=w.copy(); g[:,0]|=c[:,0]; g[:,128]|=c[:,128]; put('global_missing',g,w)
H=np.stack([w]*4)[None]; H2=H.copy(); H2[0,2]=w1; put('onehead',H,H2)
H3=H.copy(); H3[0,3]=c; put('onehead_nowin',H,H3)
ch=c&(i//64==j//64); ch2=c&((i+1)//64==(j+1)//64); put('chunkoff',ch,ch2)
put('strict',c,j<i)
put('noncausal_doc',d,(s[:,None]==s[None]))
put('rowdrop',c,np.where(i==77,False,c))
put('coldrop',c,np.where(j==77,False,c))
bl=c.copy(); bl[128:192,0:64]=False; put('blockdrop',c,bl)
bl=w.copy(); bl[128:192,64:128]=False; put('blockdrop_win',w,bl)
rng=np.random.default_rng(0); dr=c&(rng.random((S,S))>0.1); put('dropout',c,dr)
put('swap',d,d.T)
put('shift1',c,j<=i+1)
put('win_sym',w,abs(i-j)<64)
