"""Arrays as PyTorch, JAX and Hugging Face users save them: packed batches, additive masks, decode
steps, FlexAttention's block mask.

    python3 user_arrays.py FOLDER     (needs numpy and h5py)
"""
import os
import sys

import h5py
import numpy as np

os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
rng=np.random.default_rng(0)
# (a) packed batch: 4 rows of 256 tokens, ids start at 1, 0 = padding (as Megatron / HF packing / LLaMA-Factory do)
B,S=4,256
seg=np.zeros((B,S),np.int64)
for b in range(B):
    p=0; i=1
    while p<S-20:
        n=int(rng.integers(20,80)); n=min(n,S-p-8)
        if n<=0: break
        seg[b,p:p+n]=i; p+=n; i+=1
np.save('seg.npy',seg)
causal=np.tril(np.ones((S,S),bool))
good=(seg[:,:,None]==seg[:,None,:])&causal[None]&(seg[:,:,None]!=0)
np.save('mask_good.npy',good[:,None])
bad=good.copy()
bad[2,100:104,10]=True  # a leak: queries see a key of another document
np.save('mask_bad.npy',bad[:,None])
# A collator's bug: the mask is causal and closes padding, but ignores documents.
np.save('mask_blind.npy',(causal[None]&(seg[:,:,None]!=0)&(seg[:,None,:]!=0))[:,None])
# (b) Additive masks as Hugging Face has them. hf() returns a boolean mask for rows of these
# lengths: causal, with a window of W keys and padding.
def hf(lens,Q,K,W,dtype=np.float32,left=True,past=0):
    B=len(lens); m=np.zeros((B,1,Q,K),bool)
    q=np.arange(Q)[:,None]+past; k=np.arange(K)[None]
    base=(k<=q)&(k>q-W)
    for b,l in enumerate(lens):
        pad=(np.arange(K)>=K-l) if left else (np.arange(K)<l)
        m[b,0]=base&pad[None]
    return m
m=hf([64,50,33],64,64,16)
fm=np.where(m,0,np.finfo(np.float32).min).astype(np.float32)
np.save('hf_mask.npy',fm)
m2=hf([64,50,33],64,64,17); np.save('hf_mask_off.npy',np.where(m2,0,np.finfo(np.float32).min).astype(np.float32))
np.save('hf_mask_f16.npy',np.where(m,0,np.finfo(np.float16).min).astype(np.float16))
# Older versions of Hugging Face open all keys for rows that see none (_unmask_unattended).
mu=m.copy();
for b in range(3):
    e=~mu[b,0].any(-1); mu[b,0][e]=True
np.save('hf_mask_unmasked.npy',np.where(mu,0,np.finfo(np.float32).min).astype(np.float32))
np.save('attention_mask_2d.npy',np.array([[0]*(64-l)+[1]*l for l in [64,50,33]],np.int64))
# Other usual numbers for closed cells: -1e9 and -10000.
np.save('hf_mask_mixed.npy',np.where(m,0,-1e9).astype(np.float32))
np.save('hf_mask_10000.npy',np.where(m,0,-10000.0).astype(np.float32))
# (c) A causal window of 128 keys, and a wrong one of 129 keys, as for flash-attention.
W=128;S=512
q=np.arange(S)[:,None];k=np.arange(S)[None]
np.save('fa_win.npy',(q-k<=W-1)&(k<=q))
np.save('fa_win_wrong.npy',(q-k<=W)&(k<=q))
# (d) Decoding and chunked prefill over cached keys, aligned at the last key, and wrongly aligned at
# the first (top-left).
np.save('decode_ok.npy',np.ones((1,1,1,4096),bool))
t=np.tril(np.ones((1,4096),bool))
np.save('decode_topleft.npy',t[None,None])
Q,K=512,2048
np.save('chunk_ok.npy',np.tril(np.ones((Q,K),bool),K-Q))
np.save('chunk_tl.npy',np.tril(np.ones((Q,K),bool)))
# (e) A causal window as cells, and as the block lists that a BlockMask of FlexAttention has.
n=1024; bs=128; nb=n//bs
w=256
q=np.arange(n)[:,None];k=np.arange(n)[None]
mask=(k<=q)&(q-k<w)
np.save('flex_mask.npy',mask)
blk=mask.reshape(nb,bs,nb,bs).transpose(0,2,1,3).reshape(nb,nb,-1)
anyb=blk.any(-1); allb=blk.all(-1)
def dense2ord(m):
    num=m.sum(-1).astype(np.int32)[None,None]
    idx=np.argsort(-m.astype(np.int8),axis=-1,kind='stable').astype(np.int32)[None,None]
    return num,idx
pn,pi=dense2ord(anyb&~allb); fn,fi=dense2ord(allb)
np.savez('flex_blockmask.npz',kv_num_blocks=pn,kv_indices=pi,full_kv_num_blocks=fn,full_kv_indices=fi)
np.save('flex_any.npy',anyb)
np.save('flex_012.npy',(anyb.astype(np.uint8)+allb))
# (f) Cumulative lengths of four documents and the same as ids, and arrays in an HDF5 file.
lens=np.array([17,5,42,64]); cu=np.concatenate([[0],np.cumsum(lens)]).astype(np.int32)
np.save('cu.npy',cu)
np.save('ids_from_cu.npy',np.repeat(np.arange(4),lens).astype(np.int32))
with h5py.File('batch.h5','w') as f:
    g=f.create_group('train'); g['attention_mask']=good[:,None]; g['segment_ids']=seg; g['cu_seqlens']=cu
